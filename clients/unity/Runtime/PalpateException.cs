using System;

namespace Palpate
{
    /// <summary>Result of a call. The numbers are those of palpate_code.</summary>
    public enum Code
    {
        Ok = 0,
        InvalidArgument = 1,
        NotFound = 2,
        AlreadyExists = 3,
        Refused = 4,
        Unavailable = 5,
        Busy = 6,
        WrongOrder = 7,
        TooSmall = 8,
        NoAnswer = 9,
        Internal = 10,
        /// <summary>The native library is of a version that does not fit these sources.</summary>
        Incompatible = 11,
    }

    /// <summary>Error of a failed call.</summary>
    public sealed class PalpateException : Exception
    {
        public Code Code { get; }

        internal PalpateException(Code code, string message) : base(message)
        {
            Code = code;
        }

        internal static unsafe void Check(palpate_code code)
        {
            if (code != palpate_code.PALPATE_OK)
            {
                throw new PalpateException((Code)code, Text.Of(Native.palpate_last_error()));
            }
        }
    }
}
